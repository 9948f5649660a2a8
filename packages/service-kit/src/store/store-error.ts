/** State that can't be read or written. The message names the file, the problem and what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  /** The disk is full: the same may work later. */
  readonly full: boolean
  /** A person has to repair it (damaged, of a newer version, not accessible): a restart would end in the same way. */
  readonly isUnrepairable: boolean
  constructor(message: string, options?: { cause?: unknown; isUnrepairable?: boolean }) {
    super(message, options)
    const code = (options?.cause as NodeJS.ErrnoException | undefined)?.code
    this.full = code === 'ENOSPC' || code === 'EDQUOT'
    this.isUnrepairable = options?.isUnrepairable ?? false
  }
}
