// Methods, statuses, fields and byte slices are part of this library's interface; decision 0008.
@_exported public import HTTPMessage

@_exported public import struct Bytes.ByteSlice
