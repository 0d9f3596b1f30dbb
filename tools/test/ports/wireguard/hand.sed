# SPDX-License-Identifier: GPL-2.0-only
s/\nMODULE_LICENSE/\nTWHEEL_IMPORT();&/
