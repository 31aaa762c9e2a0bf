import Glibc

/// Does the work of one workload so many times, as in `instructions WORKLOAD COUNT`.
///
/// `run` counts the instructions of two runs: their difference is free of what a start costs.
@main
struct Instructions {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]) else { exit(64) }
        switch arguments[1] {
        case "request-head": try Workloads.decodeRequest(count)
        case "request-head-50": try Workloads.decode50Fields(count)
        case "request-head-500": try Workloads.decode500Fields(count)
        case "response-head": try Workloads.decodeResponse(count)
        case "edit-and-encode": try Workloads.editAndEncode(count)
        case "chain": try await Workloads.chain(count)
        case "log-line": Workloads.logLine(count)
        default: exit(64)
        }
        // Without the clean-up of the runtime, which is none of ours.
        exit(0)
    }
}
