import FoundationEssentials
import NetproxySystem

/// The tokens of several grant families in one file, on their way from one store to another.
package struct TokenArchive: Sendable {
    /// The reason why an archive cannot be written or read.
    package struct Failure: Error, Sendable, CustomStringConvertible {
        /// One clause that names the remedy.
        package let description: String
    }

    /// The name that the file is sealed for: a token file does not open as an archive, nor an archive
    /// as a token file.
    private static let name = "netproxy token archive"
    /// The version of the format.
    private static let version = 1
    /// The largest accepted file: 64 MiB.
    private static let limit = 64 << 20

    private struct Document: Codable {
        var netproxy_tokens: Int
        var families: [String: Data]
    }

    /// The records by family.
    package let records: [String: TokenRecord]

    /// Collects records.
    package init(_ records: [String: TokenRecord]) {
        self.records = records
    }

    /// Reads an archive.
    ///
    /// - Throws: `Failure`.
    package init(at path: String, by seal: TokenSeal?) throws(Failure) {
        let document: Document
        do {
            let file = try FileDescriptor(path, .read)
            guard let content = try file.readAll(upTo: Self.limit) else {
                throw Failure(description: "\(path) is too long for an archive of tokens")
            }
            let plain = try TokenSeal.open(content, family: Self.name, with: seal)
            document = try JSONDecoder().decode(Document.self, from: Data(plain))
        } catch let error as Failure {
            throw error
        } catch let error as FileError {
            throw Failure(description: "\(error)")
        } catch let error as TokenSealError {
            throw Failure(description: "\(path): \(error)")
        } catch {
            // The decoder's error is dropped, because it may quote a token.
            throw Failure(description: "\(path) is not an archive of tokens")
        }
        guard document.netproxy_tokens == Self.version else {
            throw Failure(description: "\(path) was written by a later netproxy version")
        }
        var records: [String: TokenRecord] = [:]
        for (family, content) in document.families {
            guard let record = TokenFile.decode(Array(content)) else {
                throw Failure(description: "\(path): the tokens of \(family) cannot be read")
            }
            records[family] = record
        }
        self.records = records
    }

    /// Writes the archive to a new file (0600), which is durable on return.
    ///
    /// - Parameters:
    ///   - path: where; there must be no file.
    ///   - seal: encrypts it; `nil` leaves the tokens readable for its owner.
    /// - Throws: `Failure`.
    package func write(to path: String, by seal: TokenSeal?) throws(Failure) {
        do {
            guard try FileSystem.status(path) == nil else {
                throw Failure(description: "\(path) exists already")
            }
            let families = try records.mapValues { Data(try TokenFile.encode($0)) }
            let document = Document(netproxy_tokens: Self.version, families: families)
            let plain = Array(try JSONEncoder().encode(document))
            let content = try seal?.seal(plain, family: Self.name) ?? plain
            let absolute = path.hasPrefix("/") ? path : "./\(path)"
            try FileReplacement(path: absolute, content: content).run()
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure(description: "\(error)")
        }
    }
}
