/** What a command sees belongs to the client of its token: messages about it name the client. */
import { RpcFailure } from '@selvedge/client'
import { catalogue } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import type { Input } from '../command.ts'
import { exitCodes, UsageError } from '../failure.ts'
import type { Context } from './context.ts'
import { readBearer } from './person.ts'

/** Why something that another client deployed is not there, and what to do. */
const aboutClient = (edgeAccessToken: string): string =>
  `Each client sees only its own, and this token is for the client ${readBearer(edgeAccessToken)?.clientId ?? '(not stated)'}. For another client: selvedge login --client-id <id>, or --developer-token-file with --client-id.`

/** Explains an empty list to people. The result itself stays a list. */
export function explainEmpty(
  { terminal }: Pick<Context, 'terminal'>,
  edgeAccessToken: string,
  { json }: Input['options'],
): void {
  if (!json) terminal.note(onOneLine(aboutClient(edgeAccessToken)))
}

/**
 * The same call; if the image or container is not found, the error names the client that it was looked for under.
 *
 * @param list sentence with the command that lists what there is
 */
export async function ofClient<T>(
  edgeAccessToken: string,
  call: Promise<T>,
  list: string = usualHint,
): Promise<T> {
  try {
    return await call
  } catch (cause) {
    if (!(cause instanceof RpcFailure) || cause.reason !== 'not_found') throw cause
    throw new RpcFailure({
      code: cause.code,
      message: cause.message,
      data: {
        reason: cause.reason,
        detail: cause.message,
        hint: `${cause.hint === catalogue.not_found.hint ? list : cause.hint} ${aboutClient(edgeAccessToken)}`,
        retryable: cause.retryable,
      },
    })
  }
}

const usualHint = '"selvedge ps" shows what there is.'

/** A container that is not in the list. @param what is looked for */
export const noContainer = (id: string, edgeAccessToken: string, what = 'container'): UsageError =>
  new UsageError(
    `there is no ${what} ${JSON.stringify(id.slice(0, 400))}`,
    `"selvedge ps" shows what there is. ${aboutClient(edgeAccessToken)}`,
    exitCodes.failed,
  )
