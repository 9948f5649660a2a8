/**
 * Counts the bytes of a message that has begun and is not complete. The library reports complete messages and control frames;
 * everything else that was read belongs to an incomplete message.
 */
export class IncomingBytes {
  /** All bytes of the connection. */
  total = 0
  /** The total when the last message was complete. */
  #begin = 0
  /** Bytes of control frames since then. */
  #control = 0

  read(bytes: number): void {
    this.total += bytes
  }

  /** Since the last complete message, control frames included: they share the memory of the pieces that were read. */
  get sinceMessage(): number {
    return this.total - this.#begin
  }

  /** Where the incomplete message begins, which identifies it; undefined if there is no such message. */
  get incomplete(): number | undefined {
    return this.sinceMessage > this.#control ? this.#begin : undefined
  }

  messageEnded(): void {
    this.#begin = this.total
    this.#control = 0
  }

  /** @param bytes of its content; a client sends six more (RFC 6455 § 5.2) */
  controlFrame(bytes: number): void {
    this.#control += bytes + 6
    if (this.#control >= this.sinceMessage) this.messageEnded()
  }
}
