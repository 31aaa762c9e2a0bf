import CNetproxyLibevent
import CNetproxyOpenSSL
import Glibc

// The entry points from C. Each one converts its pointer back into the object and calls one method.
// SAFETY, for all of them: the object frees the event before it is released, so the pointer is valid.

let loopWoken: event_callback_fn = { _, _, context in
    guard let context = unsafe context else { return }
    unsafe Unmanaged<EventLoop>.fromOpaque(context).takeUnretainedValue().woken()
}

let loopTimerFired: event_callback_fn = { _, _, context in
    guard let context = unsafe context else { return }
    unsafe Unmanaged<EventLoop>.fromOpaque(context).takeUnretainedValue().timerDue()
}

let socketReady: event_callback_fn = { _, what, context in
    guard let context = unsafe context else { return }
    unsafe Unmanaged<StreamSocket>.fromOpaque(context).takeUnretainedValue().ready(what)
}

let listenerReady: event_callback_fn = { _, _, context in
    guard let context = unsafe context else { return }
    unsafe Unmanaged<Listener>.fromOpaque(context).takeUnretainedValue().ready()
}

let signalArrived: event_callback_fn = { signal, _, context in
    guard let context = unsafe context else { return }
    unsafe Unmanaged<SignalSource>.fromOpaque(context).takeUnretainedValue().arrived(signal)
}

// Nobody can type a passphrase here; the flag reports that the key has one.
// SAFETY: the flag belongs to the caller, which waits for the call to end.
let passphraseWanted:
    @convention(c) (UnsafeMutablePointer<CChar>?, Int32, Int32, UnsafeMutableRawPointer?) -> Int32 =
        { _, _, _, context in
            unsafe context?.assumingMemoryBound(to: Bool.self).pointee = true
            return -1
        }

// SAFETY: the BIO is freed with the SSL, which its socket owns.
let tlsRead: @convention(c) (OpaquePointer?, UnsafeMutablePointer<CChar>?, Int32) -> Int32 =
    {
        bio,
        bytes,
        count in
        guard let context = unsafe BIO_get_data(bio) else { return -1 }
        let socket = unsafe Unmanaged<NonblockingSocket>.fromOpaque(context).takeUnretainedValue()
        return unsafe SocketBIO.read(bytes, Int(count), bio, from: socket)
    }

let tlsWrite: @convention(c) (OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
    bio,
    bytes,
    count in
    guard let context = unsafe BIO_get_data(bio) else { return -1 }
    let socket = unsafe Unmanaged<NonblockingSocket>.fromOpaque(context).takeUnretainedValue()
    return unsafe SocketBIO.write(bytes, Int(count), bio, to: socket)
}

let tlsControl: @convention(c) (OpaquePointer?, Int32, Int, UnsafeMutableRawPointer?) -> Int = {
    _,
    command,
    _,
    _ in
    command == BIO_CTRL_FLUSH ? 1 : 0
}
