/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GREBE_HDF5_HDF5_API_H
#define GREBE_HDF5_HDF5_API_H

/*
 * libhdf5 loaded when it is first needed: it brings thirty libraries with it (curl, TLS, Kerberos), and what most
 * commands do needs none of them. Its predefined types and property classes are variables: they are read once here.
 */

#include <hdf5.h>

#include "base/error.h"

/* The functions that are used, without "H5": files are written with them, and read without (hdf5_internal.h). */
#define HDF5_FUNCTIONS(X)                                                                                    \
    X(open) X(Eget_auto2) X(Eset_auto2) X(Ewalk2) X(Eclear2) X(Fcreate) X(Fclose) X(Pcreate) X(Pclose)       \
    X(Pset_fclose_degree) X(Pset_file_locking) X(Pset_alignment) X(Pset_obj_track_times) X(Pset_layout)      \
    X(Pset_fill_time) X(Dcreate2) X(Dclose) X(Dget_space) X(Dwrite) X(Sclose) X(Screate) X(Screate_simple)   \
    X(Sselect_hyperslab) X(Tclose) X(Tcopy) X(Tset_size) X(Tset_fields) X(Tset_ebias) X(Tset_precision)      \
    X(Tenum_create) X(Tenum_insert) X(Aclose) X(Acreate2) X(Awrite)

/* The variables, without "H5" and "_g". */
#define HDF5_VARIABLES(X)                                                                            \
    X(P_CLS_FILE_ACCESS_ID) X(P_CLS_DATASET_CREATE_ID) X(T_C_S1) X(T_STD_I8LE) X(T_STD_U8LE)         \
    X(T_STD_I16LE) X(T_STD_U16LE) X(T_STD_I32LE) X(T_STD_U32LE) X(T_STD_I64LE) X(T_STD_U64LE)        \
    X(T_IEEE_F32LE) X(T_IEEE_F64LE) X(T_NATIVE_INT64)         \
    X(T_NATIVE_DOUBLE)

/* H5F_ACC_TRUNC, whose macro calls the library. */
enum { HDF5_TRUNCATE = 2 };

struct hdf5_api {
    void *library;
#define HDF5_MEMBER(name) __typeof__(&H5##name) name;
    HDF5_FUNCTIONS(HDF5_MEMBER)
#undef HDF5_MEMBER
#define HDF5_MEMBER(name) hid_t name;
    HDF5_VARIABLES(HDF5_MEMBER)
#undef HDF5_MEMBER
    H5E_auto2_t was_auto; /* between enter and leave: what the program had set */
    void *was_data;
};

/** Load the version that the headers are of. GREBE_OK; GREBE_EUNSUPPORTED: it is not installed. */
grebe_status hdf5_api_load(struct hdf5_api *out, grebe_error *err);

/**
 * Every use of the library stands between these two: one thread at a time, and its messages are not printed.
 * The lock belongs to the process, as the library's state does.
 */
void hdf5_enter(struct hdf5_api *api);
void hdf5_leave(struct hdf5_api *api);

/** The innermost message of the failure that just happened, without times and places. dst: shape [n]. */
const char *hdf5_reason(struct hdf5_api *api, char *dst, size_t n);

#endif
