/** A connection that stays open between calls, so that the server can send at any time: a WebSocket. */
export interface RpcConnection {
  /**
   * Sends a message of the server, such as a notification as JSON text.
   *
   * @returns false if the message was dropped: too many bytes wait for the client already, or the connection is closed. The sender
   *   counts what it drops, and notifies the client later.
   */
  send(text: string): boolean
  /** Bytes that wait for the client to read them. */
  readonly unsentBytes: number
  /**
   * Calls back once when the connection is closed, and soon if it is closed already.
   *
   * @param callback may throw: that ends nothing else
   * @returns what to call when the callback is not needed any more
   */
  onEnd(callback: () => void): () => void
  /**
   * Declares which caller has proved a valid token. Connections without one are limited, and those of one caller as well.
   *
   * @param caller the same text for all connections of the caller; undefined: its token is not valid any more
   */
  setCaller(caller: string | undefined): void
}
