/** Shows what each member of an app does while the app is deployed: a line for each change, and one line that is drawn again. */
import { setTimeout as sleep } from 'node:timers/promises'
import { watchEvents } from '@selvedge/client/node'
import type { TopicData } from '@selvedge/protocol'
import type { Context } from '../../context/context.ts'
import { describeMember, type MemberProgress } from '../../output/member-progress.ts'
import { spinning } from '../../output/spinner.ts'
import type { Terminal } from '../../output/terminal.ts'

type Deployment = TopicData<'apps'>[number]

/** Milliseconds before the events are followed again after their connection was cut. */
const againMs = 1000

/**
 * @param deployment its ID
 * @returns the result of the work
 */
export async function followDeployment<T>(
  context: Context,
  edgeAccessToken: string,
  { app, deployment }: Pick<Deployment, 'app' | 'deployment'>,
  work: Promise<T>,
): Promise<T> {
  const { terminal } = context
  if (!terminal.isWatched) return work
  const done = new AbortController()
  const view = createView(terminal, app)
  void follow(context, edgeAccessToken, deployment, done.signal, view.show)
  return spinning(terminal, view.line, work).finally(() => done.abort())
}

/** Never rejects: an older runtime has no such events. */
async function follow(
  context: Context,
  edgeAccessToken: string,
  deployment: string,
  signal: AbortSignal,
  show: (found: Deployment) => void,
): Promise<void> {
  let hadEvents = false
  while (!signal.aborted) {
    try {
      const connection = await context.streams(edgeAccessToken)
      for await (const event of watchEvents(connection, ['apps'], { signal })) {
        const found =
          event.topic === 'apps' ? event.data.find((each) => each.deployment === deployment) : undefined
        hadEvents = true
        if (found && !signal.aborted) show(found)
      }
    } catch {
      if (!hadEvents) return
    }
    await sleep(againMs, undefined, { signal }).catch(() => undefined)
  }
}

const isUnderWay = ({ state }: MemberProgress): boolean => state === 'pulling' || state === 'starting'
const isComplete = ({ state }: MemberProgress): boolean =>
  state === 'healthy' || state === 'completed' || state === 'unchanged'

function createView(terminal: Terminal, app: string) {
  const shown = new Map<string, string>()
  let line = `deploying ${app}`
  return {
    line: () => line,
    show({ members }: Deployment): void {
      for (const member of members) {
        // How far a download is, is in the line that is drawn again.
        const text = describeMember({ ...member, pull: null })
        if (shown.get(member.service) === text) continue
        shown.set(member.service, text)
        terminal.redraw('')
        terminal.note(`  ${text}`)
      }
      const now = members.find(isUnderWay)
      const count = `${members.filter(isComplete).length} of ${members.length}`
      line = `deploying ${app}: ${count}${now ? `, ${describeMember(now)}` : ''}`
    },
  }
}
