/** State that can't be read or written. The message says which file, what is wrong with it and what to do. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly full: boolean
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    const code = (options?.cause as NodeJS.ErrnoException | undefined)?.code
    this.full = code === 'ENOSPC' || code === 'EDQUOT'
  }
}
