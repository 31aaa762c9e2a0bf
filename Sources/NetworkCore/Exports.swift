// Methods, statuses, fields and byte slices are part of this library's interface.
@_exported public import Bytes
@_exported public import HTTPMessage
