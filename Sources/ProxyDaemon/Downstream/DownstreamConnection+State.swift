import EventIO
import HTTP1

/// What a connection is made of: what it does, and what is known of its request.
extension DownstreamConnection {
    /// What the connection is doing.
    enum Phase {
        /// It waits for a request, with its task.
        case waiting
        /// It is left to the loop, since its task had nothing to do.
        case parked
        /// As parked, because its app had nothing to ask for some time.
        case resting
        /// A request is being read, or its answer awaited.
        case receiving
        /// The final answer has begun.
        case answering
    }

    /// Whether it goes on after its exchange.
    enum Ending {
        case none
        /// It ends when there is no exchange any more.
        case draining
        /// It has to end, whatever it does.
        case cut
    }

    /// What is known of one request and read of its content.
    struct Current {
        /// Numbers the requests, so that a body of an earlier one is not mistaken.
        var number = 0
        /// How much of its content was read.
        var bytesIn = 0
        /// Whether the app waits for `100 Continue` before it sends the content.
        var owesContinue = false
        /// Whether the app reads trailer fields.
        var takesTrailers = false
        /// How long nothing may move between the app and us; its channel may have another idea.
        var idleTimeout: Duration? = Current.idleTimeout

        /// Where no channel has one.
        static let idleTimeout = Duration.seconds(60)
    }

    /// What one request of a connection may be, for all connections that began under one configuration.
    final class Bounds: Sendable {
        let limits: HTTP1Limits
        let headTimeout: Duration
        /// The slowest pace of a request's content, in bytes a second; nothing where any will do.
        let bodyRate: Int?

        init(limits: HTTP1Limits, headTimeout: Duration, bodyRate: Int?) {
            self.limits = limits
            self.headTimeout = headTimeout
            self.bodyRate = bodyRate
        }
    }

    /// A request on its way in: in an object of its own, since an idle connection has none.
    final class Intake {
        var decoder: RequestHeadDecoder
        /// The head that came, until its exchange begins.
        var head: RequestHead?
        /// The request body that is being read, while it is not at its end.
        var body: BodyDecoder?
        var pace: BodyPace

        init(_ bounds: Bounds) {
            decoder = RequestHeadDecoder(limits: bounds.limits)
            pace = BodyPace(rate: bounds.bodyRate)
        }
    }

    /// An answer that has begun.
    final class Begun {
        let opening: Opening

        init(_ opening: Opening) {
            self.opening = opening
        }
    }

    /// The one reader of a request's content, by number, and who waits for its end.
    struct Pull {
        var number = 0
        var isOn = false
        var waiting: CheckedContinuation<Void, Never>?
    }
}
