# SPDX-License-Identifier: GPL-2.0-only
"""A picture with a title, in a style, which becomes an SVG file."""


class Drawing:
    # CSS for each class in use, in both colour schemes: each kind of picture sets its own.
    STYLE = ""

    def __init__(self, width, height, title, subtitle):
        self.size = width, height
        self.title = title
        self.parts = [f'<rect class="back" width="{width}" height="{height}"/>']
        self.text(24, 32, title, "head")
        self.text(24, 50, subtitle, "faint")

    def text(self, x, y, words, style=""):
        words = str(words).replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{style}">{words}</text>')

    def save(self, name):
        width, height = self.size
        with open(name, "w") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
                       f'width="{width}" height="{height}" role="img" '
                       f'aria-label="{self.title}">\n<style>{self.STYLE}</style>\n'
                       + "\n".join(self.parts) + "\n</svg>\n")
