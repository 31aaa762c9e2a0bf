// Methods, statuses, fields and byte slices are part of this library's interface; see decision 0008.
@_exported public import NetproxyHTTPMessage

@_exported public import struct NetproxyBytes.ByteSlice
@_exported public import enum NetproxySettings.ClientAuthentication
@_exported public import enum NetproxySettings.HTTPVersions
@_exported public import enum NetproxySettings.SignatureAlgorithm
