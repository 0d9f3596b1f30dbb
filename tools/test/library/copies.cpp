// SPDX-License-Identifier: GPL-2.0-only
/*
 * Objects with a timer, a watch and periodic work in C++. Without WAY this compiles, and with each
 * WAY there is one line more, which copies or moves such an object: that must not.
 */
#include <utility>
#include <vector>

#include <twheel.h>
#include <twheel_policy.h>

template <class part> struct object {
	int number;
	part embedded;
};

template <class part> int use()
{
	static object<part> in_no_thread;
	std::vector<object<part>> of_one_size(3);
	object<part> on_the_stack{}, other{}, *allocated = new object<part>();

	in_no_thread.number = on_the_stack.number + other.number + allocated->number;
	of_one_size[1].number = in_no_thread.number;
#if WAY == 1
	object<part> copied(on_the_stack);
#elif WAY == 2
	other = on_the_stack;
#elif WAY == 3
	object<part> moved(std::move(on_the_stack));
#elif WAY == 4
	other = std::move(on_the_stack);
#elif WAY == 5
	of_one_size.emplace_back();
#elif WAY == 6
	std::swap(on_the_stack, other);
#endif
	delete allocated;
	return of_one_size[1].number;
}

int main()
{
	return use<EMBEDDED>();
}
