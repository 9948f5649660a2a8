/** Callers that repeat the flow of a developer and a device, and count what they got. The first one also searches for nodes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isSelvedgeError } from '@selvedge/client'
import { stepLimitMs } from '../../harness/limits.ts'
import type { Compose } from './compose.ts'

export interface Subject {
  readonly clientId: string
  readonly developerIdToken: string
  readonly accountId: string
  readonly nodeId: string
}

export interface Callers {
  /** Whole rounds in which every answer was right. */
  rounds(): number
  /** Requests that were refused or not answered, by step and reason, since the last call. */
  takeRefused(): Readonly<Record<string, number>>
  /** Answers with other content than the right one. */
  wrong(): readonly string[]
  /** Waits until each caller has completed some more rounds one after the other. */
  untilFlowing(rounds?: number): Promise<void>
  stop(): Promise<void>
}

/** What may be refused, and is no wrong answer: the service or the way to it is away. All other errors are wrong. */
const refusals = new Set([
  'temporarily_unavailable',
  'server_error',
  'identity_unavailable',
  'discovery_unavailable',
  'busy',
  'bad_answer',
  'refused',
  'not_running',
  'timeout',
])

/** Milliseconds between two searches: the discovery service answers two a second of a node. */
const searchMs = 700
/** Milliseconds between two rounds of the other callers: several of their requests are under way at any time, and the CPU is free for the rest. */
const roundMs = 250

const scope = 'openid edge:clusters edge:account:associate'

export function startCallers({ runtime, identity }: Compose, subject: Subject, count: number): Callers {
  let isOver = false
  let refused: Record<string, number> = {}
  const wrong: string[] = []
  const done = Array.from({ length: count }, () => 0)
  const inRow = Array.from({ length: count }, () => 0)

  async function round(step: (name: string) => void, searches: boolean): Promise<void> {
    step('getEdgeIdToken')
    const { id_token: edgeIdToken } = await runtime.getEdgeIdToken()
    step('token')
    const { access_token: edgeAccessToken } = await identity.exchange({ ...subject, edgeIdToken, scope })
    step('associateAccount')
    const { accountId } = await runtime.associateAccount({ edgeAccessToken })
    if (accountId !== subject.accountId) wrong.push(`associateAccount: ${accountId}`)
    if (!searches) return
    step('getNodes')
    const { data: nodes, stale } = await runtime.getNodes({ edgeAccessToken, cluster: 'account' })
    if (nodes.length !== 1 || nodes[0]?.nodeId !== subject.nodeId)
      wrong.push(`getNodes: ${JSON.stringify(nodes)}`)
    if (stale) refused['getNodes: cached'] = (refused['getNodes: cached'] ?? 0) + 1
  }

  async function repeat(caller: number): Promise<void> {
    const searches = caller === 0
    while (!isOver) {
      let at = ''
      try {
        await round((name) => {
          at = name
        }, searches)
        done[caller]!++
        inRow[caller]!++
      } catch (cause) {
        inRow[caller] = 0
        const reason = isSelvedgeError(cause) ? cause.reason : String(cause)
        const name = `${at}: ${reason}`
        refused[name] = (refused[name] ?? 0) + 1
        if (!refusals.has(reason)) wrong.push(`${name}: ${(cause as Error).message}`)
      }
      await sleep(searches ? searchMs : roundMs)
    }
  }
  const running = Promise.all(done.map((_, caller) => repeat(caller)))

  return {
    rounds: () => done.reduce((sum, each) => sum + each, 0),
    takeRefused() {
      const taken = refused
      refused = {}
      return taken
    },
    wrong: () => wrong,
    async untilFlowing(rounds = 5) {
      inRow.fill(0)
      const until = Date.now() + stepLimitMs
      while (!inRow.every((each) => each >= rounds)) {
        if (Date.now() > until) throw new Error(`the flow did not go on: ${JSON.stringify(refused)}`)
        await sleep(50)
      }
    },
    async stop() {
      isOver = true
      await running
    },
  }
}
