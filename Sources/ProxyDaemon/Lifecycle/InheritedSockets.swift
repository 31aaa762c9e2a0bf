import EventIO
import System

/// The sockets that systemd handed over: each is owned once, for the life of the process.
///
/// A reload that drops one leaves it open, so that a later reload can use it again. systemd passes
/// descriptors only at the start; the number of one that was closed may be a log file's by then.
package struct InheritedSockets: Sendable {
    private let sockets: [String: [Result<SharedSocket, IOError>]]

    /// Takes over what the environment tells of (sd_listen_fds_with_names(3)); once in a process.
    package init(_ environment: [String: String]) {
        self.init(descriptors: ServiceManager.inheritedSockets(environment))
    }

    /// Takes over descriptors by their names; nobody else closes them from now on.
    package init(descriptors: [String: [Int32]]) {
        sockets = descriptors.mapValues { $0.map(InheritedSockets.take) }
    }

    private static func take(_ descriptor: Int32) -> Result<SharedSocket, IOError> {
        do throws(IOError) {
            return .success(SharedSocket(try ListeningSocket(inherited: descriptor)))
        } catch {
            return .failure(error)
        }
    }

    /// The sockets of one name.
    ///
    /// - Throws: `IOError.system` if there is none, or one of them is no listening socket.
    func named(_ name: String) throws(IOError) -> [SharedSocket] {
        guard let results = sockets[name], !results.isEmpty else {
            throw .system("systemd passed no socket named \(name); see FileDescriptorName=")
        }
        var found: [SharedSocket] = []
        for result in results {
            do throws(IOError) {
                found.append(try result.get())
            } catch {
                throw .system("cannot listen on systemd:\(name): \(error)")
            }
        }
        return found
    }
}
