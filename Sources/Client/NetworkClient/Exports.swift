// One import provides the whole library, including its transport; see decision 0008.
@_exported public import NetproxyHTTPMessage
@_exported public import NetworkCore
@_exported public import OAuth
@_exported public import OriginTransport

@_exported public import struct NetproxyBytes.ByteSlice
