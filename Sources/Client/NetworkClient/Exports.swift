// One import gives a program the whole library, its transport included; decision 0008.
@_exported public import NetproxyHTTPMessage
@_exported public import NetworkCore
@_exported public import OAuth
@_exported public import OriginTransport

@_exported public import struct NetproxyBytes.ByteSlice
