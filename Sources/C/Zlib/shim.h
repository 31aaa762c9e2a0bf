#pragma once
#include <zlib.h>

// inflateInit2 is a macro.
static inline int inflate_begin(z_streamp stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}
