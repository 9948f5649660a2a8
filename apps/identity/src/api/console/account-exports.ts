/** Answers with everything of one kind that an account has, read page by page at the pace of the reader. */
import { addAbortSignal, Readable } from 'node:stream'
import { OAuthError } from '@selvedge/protocol'
import { createWorkCounts, endWhenClosed } from '@selvedge/service-kit/work'

/** Milliseconds for a whole export: a client that does not read occupies no place for longer. */
const exportMs = 300_000

/**
 * Begins an export. It ends with its last piece, when its client leaves, or after five minutes.
 *
 * @throws OAuthError `temporarily_unavailable` (429) if the account has too many under way
 */
export type BeginExport = (accountId: string, content: AsyncIterable<string>) => Readable

/** @param maxUnderWay exports of one account at the same time */
export function createAccountExports(maxUnderWay: number): BeginExport {
  const exports = createWorkCounts('exports')
  return (accountId, content) => {
    if (exports.of(accountId) >= maxUnderWay)
      throw new OAuthError('temporarily_unavailable', 'other exports of the account are under way', {
        status: 429,
        retryAfter: 10,
      })
    const stream = Readable.from(content)
    endWhenClosed(stream, exports.begin(accountId))
    return addAbortSignal(AbortSignal.timeout(exportMs), stream)
  }
}
