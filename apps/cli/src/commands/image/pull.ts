/** Lets the device download an image from a registry, with a progress bar where a person watches. */
import { watchEvents } from '@selvedge/client/node'
import type { ImageRecord } from '@selvedge/protocol'
import type { Context } from '../../context/context.ts'
import { progressBar } from '../../output/progress.ts'
import { spinning } from '../../output/spinner.ts'

/** @throws RpcFailure | ConnectionFailure */
export async function pullImage(
  context: Context,
  edgeAccessToken: string,
  source: string,
  name?: string,
): Promise<ImageRecord> {
  const { terminal, runtime } = context
  const done = new AbortController()
  let bar = ''
  if (terminal.isWatched)
    void followPull(context, edgeAccessToken, source, done.signal, (shown) => {
      bar = shown
    })
  const pulled = runtime.deployImage({ edgeAccessToken, source, ...(name !== undefined && { name }) })
  return spinning(terminal, () => `${source} ${bar}`.trim(), pulled).finally(() => done.abort())
}

/** Shows how much has arrived, until the signal. Never rejects: an older runtime does not report it. */
async function followPull(
  context: Context,
  edgeAccessToken: string,
  source: string,
  signal: AbortSignal,
  show: (bar: string) => void,
): Promise<void> {
  try {
    const connection = await context.streams(edgeAccessToken)
    for await (const event of watchEvents(connection, ['pulls'], { signal })) {
      const pull = event.topic === 'pulls' ? event.data.find((each) => each.source === source) : undefined
      if (pull?.totalBytes) show(progressBar(pull.receivedBytes, pull.totalBytes))
    }
  } catch {
    // Only the time is shown.
  }
}
