/* SPDX-License-Identifier: Apache-2.0 */
/* A shared library needs one source of its own; all code comes from the rooms. */
typedef int grebe_anchor;
