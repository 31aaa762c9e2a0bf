import CNetproxyNghttp2
import NetproxyBytes

/// The callbacks of nghttp2.
// SAFETY: the user data of every session is the `HTTP2Session` that owns it; pointers from nghttp2 are used
// only within the callback.
enum HTTP2Callbacks {
    /// The source of message content.
    static var provider: nghttp2_data_provider {
        unsafe nghttp2_data_provider(source: nghttp2_data_source(fd: 0), read_callback: readContent)
    }

    /// Calls `body` with a placeholder for the fields of a head.
    ///
    /// nghttp2 encodes it from the static table without changing its dynamic one. The session then writes the
    /// real fields instead.
    static func withPlaceholder<Result>(
        _ body: (UnsafePointer<nghttp2_nv>) -> Result
    ) -> Result {
        let (name, value): (StaticString, StaticString) = (":method", "GET")
        var field = unsafe nghttp2_nv(
            name: UnsafeMutablePointer(mutating: name.utf8Start),
            value: UnsafeMutablePointer(mutating: value.utf8Start),
            namelen: name.utf8CodeUnitCount,
            valuelen: value.utf8CodeUnitCount,
            flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
        )
        return unsafe body(&field)
    }

    static func makeSession(for owner: HTTP2Session) -> OpaquePointer? {
        var callbacks: OpaquePointer?
        var options: OpaquePointer?
        var session: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0,
            unsafe nghttp2_option_new(&options) == 0
        else { preconditionFailure("out of memory") }
        defer {
            unsafe nghttp2_session_callbacks_del(callbacks)
            unsafe nghttp2_option_del(options)
        }
        unsafe nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, beginFrame)
        unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, beginHeaders)
        unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, header)
        unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, receivedFrame)
        unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, receivedContent)
        unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, closedStream)
        unsafe nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, beginsFrame)
        unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, sentFrame)
        unsafe nghttp2_session_callbacks_set_send_data_callback(callbacks, sendContent)
        unsafe nghttp2_session_callbacks_set_error_callback2(callbacks, complain)
        // Windows depend on the reader, and messages follow the rules of HTTP/1.
        unsafe nghttp2_option_set_no_auto_window_update(options, 1)
        unsafe nghttp2_option_set_no_http_messaging(options, 1)
        unsafe nghttp2_option_set_no_closed_streams(options, 1)
        // nghttp2 counts the reads of a frame's header rather than frames; `beginFrame` counts frames.
        unsafe nghttp2_option_set_max_continuations(options, .max)
        unsafe nghttp2_option_set_max_outbound_ack(options, owner.limits.idleFrames)
        let data = unsafe Unmanaged.passUnretained(owner).toOpaque()
        let code =
            switch owner.role {
            case .client: unsafe nghttp2_session_client_new2(&session, callbacks, data, options)
            case .server: unsafe nghttp2_session_server_new2(&session, callbacks, data, options)
            }
        guard code == 0 else { preconditionFailure("out of memory") }
        return unsafe session
    }
}

private func owner(_ data: UnsafeMutableRawPointer?) -> HTTP2Session? {
    unsafe data.map { unsafe Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
}

private func has(_ flags: UInt8, _ flag: nghttp2_flag) -> Bool { flags & UInt8(flag.rawValue) != 0 }

private func beginFrame(
    _: OpaquePointer?,
    _ header: UnsafePointer<nghttp2_frame_hd>?,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let header = unsafe header?.pointee else { return 0 }
    let isIdle =
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue: false
        case NGHTTP2_DATA.rawValue:
            header.length == 0 && !has(header.flags, NGHTTP2_FLAG_END_STREAM)
        // A server can reset each of our streams once; a client can open and reset any number.
        case NGHTTP2_RST_STREAM.rawValue:
            unsafe session.role == .server || session.streams[header.stream_id] == nil
        default: true
        }
    guard isIdle else {
        if header.type == UInt8(NGHTTP2_DATA.rawValue) { unsafe session.budget.earn(1) }
        return 0
    }
    if header.type == UInt8(NGHTTP2_CONTINUATION.rawValue) {
        session.continuations += 1
        guard session.continuations <= session.limits.continuations else {
            session.overrun = (.enhanceYourCalm, "a head in too many frames")
            return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
        }
    }
    guard unsafe session.budget.spend() else {
        let reason = "too many frames that neither begin a message nor carry content"
        session.overrun = (.enhanceYourCalm, reason)
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    // RFC 9113 §8.4: our first settings disabled push.
    if header.type == UInt8(NGHTTP2_PUSH_PROMISE.rawValue) {
        session.overrun = (.protocolError, "PUSH_PROMISE, which was not asked for")
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    // RFC 9113 §6.3; nghttp2 does not check this without priorities.
    if header.type == UInt8(NGHTTP2_PRIORITY.rawValue), header.stream_id == 0 {
        session.overrun = (.protocolError, "PRIORITY on no stream")
        return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue
    }
    return 0
}

private func beginHeaders(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let frame = unsafe frame else { return 0 }
    let opens = unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
    session.beginBlock(on: unsafe frame.pointee.hd.stream_id, opensRequest: opens)
    return 0
}

private func header(
    _: OpaquePointer?,
    _: UnsafePointer<nghttp2_frame>?,
    _ name: UnsafePointer<UInt8>?,
    _ nameLength: Int,
    _ value: UnsafePointer<UInt8>?,
    _ valueLength: Int,
    _: UInt8,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let name = unsafe name, let value = unsafe value else {
        return 0
    }
    unsafe session.block.add(
        unsafe Span(_unsafeStart: name, count: nameLength),
        unsafe Span(_unsafeStart: value, count: valueLength)
    )
    return 0
}

private func receivedFrame(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let frame = unsafe frame else { return 0 }
    let header = unsafe frame.pointee.hd
    let ends = has(header.flags, NGHTTP2_FLAG_END_STREAM)
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue: session.endBlock(on: header.stream_id, endingMessage: ends)
    case NGHTTP2_DATA.rawValue: if ends { session.endContent(on: header.stream_id) }
    case NGHTTP2_SETTINGS.rawValue:
        if !has(header.flags, NGHTTP2_FLAG_ACK) {
            unsafe session.receive(frame.pointee.settings)
        }
    case NGHTTP2_PING.rawValue:
        if has(header.flags, NGHTTP2_FLAG_ACK) { unsafe session.events.append(.pong) }
    case NGHTTP2_GOAWAY.rawValue:
        let last = unsafe frame.pointee.goaway.last_stream_id
        let code = HTTP2Code(rawValue: unsafe frame.pointee.goaway.error_code)
        session.hasGoneAway = true
        unsafe session.events.append(.goAway(last: last, code))
    default: break
    }
    return 0
}

/// Called before a frame is written.
private func beginsFrame(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let frame = unsafe frame else { return 0 }
    let header = unsafe frame.pointee.hd
    if header.type == UInt8(NGHTTP2_HEADERS.rawValue) { session.beginHead(on: header.stream_id) }
    return 0
}

/// Called after a frame has been written.
private func sentFrame(
    _: OpaquePointer?,
    _ frame: UnsafePointer<nghttp2_frame>?,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let frame = unsafe frame else { return 0 }
    let header = unsafe frame.pointee.hd
    let isOfMessage =
        header.type == UInt8(NGHTTP2_HEADERS.rawValue)
        || header.type == UInt8(NGHTTP2_DATA.rawValue)
    if isOfMessage, has(header.flags, NGHTTP2_FLAG_END_STREAM) {
        session.sentEnd(of: header.stream_id)
    }
    return 0
}

private func receivedContent(
    _: OpaquePointer?,
    _: UInt8,
    _ stream: Int32,
    _ bytes: UnsafePointer<UInt8>?,
    _ count: Int,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let bytes = unsafe bytes,
        let input = unsafe session.input
    else { return 0 }
    let start = unsafe bytes - input
    session.receiveContent(start..<(start + count), on: stream)
    return 0
}

private func closedStream(
    _: OpaquePointer?,
    _ stream: Int32,
    _ code: UInt32,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data) else { return 0 }
    session.close(stream)
    unsafe session.budget.earn(code == 0 ? 2 : 0)
    unsafe session.events.append(.closed(stream, HTTP2Code(rawValue: code)))
    return 0
}

private func complain(
    _: OpaquePointer?,
    _: Int32,
    _ text: UnsafePointer<CChar>?,
    _ length: Int,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let text = unsafe text else { return 0 }
    session.complaint = unsafe String(cString: text)
    return 0
}

/// Returns the length of the content of the next frame.
private func readContent(
    _: OpaquePointer?,
    _ id: Int32,
    _: UnsafeMutablePointer<UInt8>?,
    _ limit: Int,
    _ flags: UnsafeMutablePointer<UInt32>?,
    _: UnsafeMutablePointer<nghttp2_data_source>?,
    _ data: UnsafeMutableRawPointer?
) -> Int {
    guard let session = unsafe owner(data), let stream = unsafe session.streams[id],
        let flags = unsafe flags
    else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
    let count = min(limit, stream.ready)
    let isLast = stream.isLastPiece && count == stream.ready
    guard count > 0 || isLast else {
        stream.isDeferred = true
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if isLast {
        unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        if let trailers = stream.trailers {
            unsafe flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            session.submitTrailers(trailers, on: id)
        }
    }
    return count
}

/// Writes a frame of content.
private func sendContent(
    _: OpaquePointer?,
    _ frame: UnsafeMutablePointer<nghttp2_frame>?,
    _ header: UnsafePointer<UInt8>?,
    _ count: Int,
    _: UnsafeMutablePointer<nghttp2_data_source>?,
    _ data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let session = unsafe owner(data), let output = session.output,
        let frame = unsafe frame, let header = unsafe header
    else { return NGHTTP2_ERR_CALLBACK_FAILURE.rawValue }
    let stream = unsafe frame.pointee.hd.stream_id
    output.append(unsafe Span(_unsafeStart: header, count: 9))
    guard let state = unsafe session.streams[stream] else { return 0 }
    state.take(count, into: output)
    unsafe session.budget.earn(4)
    if count > 0 { unsafe session.events.append(.sent(stream, count)) }
    return 0
}
