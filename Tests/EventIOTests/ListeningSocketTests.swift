import Foundation
import Glibc
import TestSupport
import Testing

@testable import NetproxyEventIO

@Suite struct ListeningSocketTests {
    @Test func `a socket opened by systemd gets the same options as our own`() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0 && listen(descriptor, 1) == 0)
        let socket = try ListeningSocket(inherited: descriptor)
        var (isOn, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
        let code = unsafe getsockopt(
            descriptor,
            Int32(IPPROTO_TCP),
            TCP_NODELAY,
            &isOn,
            &size
        )
        #expect(code == 0 && isOn != 0)
        #expect(socket.address.isWildcard)
    }

    @Test func `a unix socket opened by systemd has its path as its address`() throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "given-\(UInt64.random(in: 0 ... .max)).sock").path()
        let address = try #require(SocketAddress(unixPath: path))
        let ours = try ListeningSocket(address)
        #expect(try ListeningSocket(inherited: dup(ours.descriptor)).address == address)
        // systemd owns the file.
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test(arguments: [nil, 0o600, 0o660, 0o666] as [UInt32?])
    func `a unix socket has its mode as soon as it listens`(mode: UInt32?) throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "mode-\(UInt64.random(in: 0 ... .max)).sock").path()
        let address = try #require(SocketAddress(unixPath: path))
        let socket =
            if let mode { try ListeningSocket(address, mode: mode) } else {
                try ListeningSocket(address)
            }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        // By default, only its owner has access.
        #expect((attributes[.posixPermissions] as? NSNumber)?.uint32Value == mode ?? 0o600)
        #expect(socket.address == address)
    }

    @Test func `a unix socket with a busy owner is not replaced`() async throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "busy-\(UInt64.random(in: 0 ... .max)).sock").path()
        let address = try #require(SocketAddress(unixPath: path))
        let busy = try ListeningSocket(address, backlog: 0)
        let loop = try TestLoop.shared()
        try await Task(executorPreference: loop) {
            let first = try await Dialer.connect(to: address, on: loop, until: .max)
            defer { first.close() }
            #expect(
                throws: IOError.system(
                    "cannot listen on unix:\(path): another process answers there"
                )
            ) { _ = try ListeningSocket(address) }
        }.value
        #expect(busy.address == address)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func `a closed socket does not remove the file of its replacement`() throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "taken-\(UInt64.random(in: 0 ... .max)).sock").path()
        let address = try #require(SocketAddress(unixPath: path))
        let first = try ListeningSocket(address)
        try FileManager.default.removeItem(atPath: path)
        let second = try ListeningSocket(address)
        let place = first.address
        _ = consume first
        #expect(place == second.address)
        #expect(FileManager.default.fileExists(atPath: path))
        _ = consume second
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `a unix socket without a listener is replaced`() async throws {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "stale-\(UInt64.random(in: 0 ... .max)).sock").path()
        let address = try #require(SocketAddress(unixPath: path))
        try leaveStale(address, path)
        try FileManager.default.moveItem(atPath: path + ".kept", toPath: path)
        // A child process started by another test shares the descriptor until it calls exec.
        let isReplaced = await eventually {
            do {
                let second = try ListeningSocket(address)
                return second.address == address
            } catch {
                return false
            }
        }
        #expect(isReplaced)
    }

    /// Leaves the file of a closed socket, as after a crash.
    private func leaveStale(_ address: SocketAddress, _ path: String) throws {
        let first = try ListeningSocket(address)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".kept")
        #expect(first.address == address)
    }
}
