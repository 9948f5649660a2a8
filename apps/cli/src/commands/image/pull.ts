/** Lets the device download an image from a registry, with a progress bar where a person watches. */
import { watchEvents } from '@selvedge/client/node'
import type { ImageRecord, TopicData } from '@selvedge/protocol'
import type { Context } from '../../context/context.ts'
import { paceOf, progressBar } from '../../output/progress.ts'
import { spinning } from '../../output/spinner.ts'

/** @throws RpcFailure | ConnectionFailure */
export async function pullImage(
  context: Context,
  edgeAccessToken: string,
  source: string,
  { name, now = false }: { readonly name?: string | undefined; readonly now?: boolean } = {},
): Promise<ImageRecord> {
  const { terminal, runtime } = context
  const done = new AbortController()
  let shown = () => ''
  if (terminal.isWatched)
    void followPull(context, edgeAccessToken, source, done.signal, (latest) => {
      shown = latest
    })
  const pulled = runtime.deployImage({
    ...{ edgeAccessToken, source },
    ...(name !== undefined && { name }),
    ...(now && { now }),
  })
  return spinning(terminal, () => `${source} ${shown()}`.trim(), pulled).finally(() => done.abort())
}

/** Shows how much has arrived, until the signal. Never rejects: an older runtime does not report it. */
async function followPull(
  context: Context,
  edgeAccessToken: string,
  source: string,
  signal: AbortSignal,
  show: (latest: () => string) => void,
): Promise<void> {
  try {
    const connection = await context.streams(edgeAccessToken)
    for await (const event of watchEvents(connection, ['pulls'], { signal })) {
      const pull = event.topic === 'pulls' ? event.data.find((each) => each.source === source) : undefined
      if (pull) show(shownPull(pull, performance.now()))
    }
  } catch {
    // Only the time is shown.
  }
}

/** @param at monotonic milliseconds of the event: the seconds that are left are counted from then on */
function shownPull(pull: TopicData<'pulls'>[number], at: number): () => string {
  const { receivedBytes, totalBytes, waiting } = pull
  const bar = totalBytes === null ? '' : progressBar(receivedBytes, totalBytes)
  return () => {
    const passed = Math.floor((performance.now() - at) / 1000)
    const left = waiting && { ...waiting, seconds: Math.max(0, waiting.seconds - passed) }
    return `${bar}  ${paceOf({ ...pull, ...(left && { waiting: left }) })}`.trim()
  }
}
