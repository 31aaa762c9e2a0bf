// Clock, authorization server and the like are what adopters test with, too.
@_exported import NetworkTesting
