// The clock, the authorization server and other helpers that adopters also use.
@_exported import NetworkTesting
