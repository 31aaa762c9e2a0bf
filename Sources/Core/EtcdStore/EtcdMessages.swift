import FoundationEssentials

// The messages of etcd's JSON gateway (etcd API v3, rpc.proto): bytes are base64, 64-bit numbers are
// texts, and zero or empty members are left out.

/// A 64-bit number, which JSON carries as text.
struct EtcdNumber: Sendable, Codable, Hashable {
    var value: Int64

    init(_ value: Int64) { self.value = value }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do {
            value = try container.decode(Int64.self)
        } catch {
            let text = try container.decode(String.self)
            guard let number = Int64(text) else { throw error }
            value = number
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(String(value))
    }
}

/// A key with its value.
struct EtcdKeyValue: Sendable, Decodable, Hashable {
    var key: Data
    var value: Data?
    var create_revision: EtcdNumber?
    var mod_revision: EtcdNumber?
    var lease: EtcdNumber?
}

struct EtcdHeader: Sendable, Decodable {
    var revision: EtcdNumber?
}

/// A response about the database at one revision.
protocol EtcdRevised {
    var header: EtcdHeader? { get }
}

extension EtcdRevised {
    var revision: Int64 { header?.revision?.value ?? 0 }
}

/// Reads one key, or all from it up to `range_end`.
struct EtcdRange: Sendable, Encodable {
    var key: Data
    var range_end: Data?
}

struct EtcdRangeResponse: Sendable, Decodable, EtcdRevised {
    var header: EtcdHeader?
    var kvs: [EtcdKeyValue]?
}

struct EtcdPut: Encodable {
    var key: Data
    var value: Data
    var lease: EtcdNumber?
}

/// A condition of a transaction.
struct EtcdCompare: Encodable {
    private var key: Data
    private var target: String
    private var result = "EQUAL"
    private var create_revision: EtcdNumber?
    private var mod_revision: EtcdNumber?

    /// The key was created by this revision; 0: it does not exist.
    static func created(_ key: Data, at revision: Int64) -> EtcdCompare {
        EtcdCompare(key: key, target: "CREATE", create_revision: EtcdNumber(revision))
    }

    /// The key was last written by this revision; 0: it does not exist.
    static func written(_ key: Data, at revision: Int64) -> EtcdCompare {
        EtcdCompare(key: key, target: "MOD", mod_revision: EtcdNumber(revision))
    }
}

/// One step of a transaction.
struct EtcdOperation: Encodable {
    private var request_range: EtcdRange?
    private var request_put: EtcdPut?

    static func get(_ key: Data) -> EtcdOperation {
        EtcdOperation(request_range: EtcdRange(key: key))
    }

    static func put(_ key: Data, _ value: Data, lease: Int64? = nil) -> EtcdOperation {
        let put = EtcdPut(key: key, value: value, lease: lease.map { EtcdNumber($0) })
        return EtcdOperation(request_put: put)
    }
}

/// Steps that apply together if all comparisons hold, and other steps if not.
struct EtcdTransaction: Encodable {
    var compare: [EtcdCompare]
    var success: [EtcdOperation]
    var failure: [EtcdOperation]
}

struct EtcdTransactionResponse: Sendable, Decodable, EtcdRevised {
    struct OperationResponse: Sendable, Decodable {
        var response_range: EtcdRangeResponse?
    }

    var header: EtcdHeader?
    var succeeded: Bool?
    var responses: [OperationResponse]?

    /// The value of a key that was read; `nil` if it does not exist.
    func read(_ key: Data) -> EtcdKeyValue? {
        (responses ?? []).lazy.compactMap(\.response_range).flatMap { $0.kvs ?? [] }
            .first { $0.key == key }
    }
}

struct EtcdLeaseGrant: Encodable {
    var TTL: EtcdNumber
}

struct EtcdLeaseID: Encodable {
    var ID: EtcdNumber
}

struct EtcdLeaseResponse: Sendable, Decodable {
    var ID: EtcdNumber?
    var TTL: EtcdNumber?
}

/// A message of a stream of responses.
struct EtcdStreamed<Result: Decodable & Sendable>: Sendable, Decodable {
    var result: Result?
    var error: EtcdRefusal?
}

struct EtcdWatchRequest: Encodable {
    struct Create: Encodable {
        var key: Data
        var range_end: Data
        var start_revision: EtcdNumber
    }

    var create_request: Create
}

struct EtcdWatchResponse: Sendable, Decodable {
    struct Event: Sendable, Decodable {
        var type: String?
        var kv: EtcdKeyValue

        var isDeletion: Bool { type == "DELETE" }
    }

    var canceled: Bool?
    var events: [Event]?
}

struct EtcdLogin: Encodable {
    var name: String
    var password: String
}

struct EtcdLoginResponse: Sendable, Decodable {
    var token: String
}

/// The gateway's error.
///
/// Streams have other names for the same members, and a stream that fails immediately wraps it.
struct EtcdRefusal: Sendable, Decodable {
    var message: String
    var code: Int

    private enum Key: String, CodingKey {
        case error, message, code, grpc_code
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        let error: String?
        do {
            error = try members.decodeIfPresent(String.self, forKey: .error)
        } catch {
            self = try members.decode(EtcdRefusal.self, forKey: .error)
            return
        }
        guard let words = try members.decodeIfPresent(String.self, forKey: .message) ?? error else {
            throw DecodingError.keyNotFound(
                Key.message,
                DecodingError.Context(codingPath: [], debugDescription: "no message")
            )
        }
        message = words
        code =
            try members.decodeIfPresent(Int.self, forKey: .code)
            ?? members.decodeIfPresent(Int.self, forKey: .grpc_code) ?? 2
    }
}
