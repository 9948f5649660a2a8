/** A discovery service that stores tracks of a node, and what of it was acknowledged. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { AuthorizeRequest } from '@selvedge/client'
import { createNodeFetch } from '@selvedge/client/node'
import { defaultSharing, type FixInput } from '@selvedge/protocol'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import { createDevice, fixAt } from '../../../harness/device.ts'
import { createDeveloper, type Developer } from '../../../harness/flow.ts'
import { type Stack, startProgram } from '../../../harness/processes.ts'
import { atOnce } from './at-once.ts'
import { attempt, type OwnedSubject } from './subject.ts'

const hour = 3_600_000

interface Options {
  /** Of the daemon, like its environment. */
  readonly args?: readonly string[]
  /** Whether the last location of a node is stored before its report is acknowledged: in a cluster. */
  readonly keepsLast?: boolean
}

/** @param env of the daemon, which is started again with it on the port that it had */
export async function discoverySubject(
  stack: Stack,
  env: Readonly<Record<string, string>>,
  { args = [], keepsLast = false }: Options = {},
): Promise<OwnedSubject> {
  const { port } = new URL(stack.discovery.url)
  let program = stack.discovery
  const developer = await createDeveloper(stack.state)
  const device = await createDevice(
    {
      identityUrl: stack.identity.url,
      discoveryUrl: stack.discovery.url,
      fetch: atOnce(createNodeFetch()),
    },
    developer,
  )
  const quiet = keepsLast ? await createQuietDevice(stack, developer) : undefined
  const acknowledged = new Set<number>()
  let newest = 0
  /** What was wrong with last locations. */
  const older: string[] = []
  /** A fix whose report was refused: it is reported again, as the runtime does. */
  let waiting: FixInput | undefined
  let trackUntil = Date.now() + hour
  /** Ends of the track that may be stored: the acknowledged one, and those that were asked for since. */
  let possible: number[] = []
  let latitude = 0
  let session: AuthorizeRequest | undefined

  async function begin(): Promise<void> {
    trackUntil += 1000
    possible.push(trackUntil)
    const asked = { sharing: defaultSharing, trackUntil }
    session = await device.begin(asked, await device.state({ audience: discoveryAudience }))
    possible = [trackUntil]
  }
  async function report(): Promise<void> {
    latitude = (latitude + 1) % 90
    waiting ??= fixAt(1, latitude)
    const { fixedAt } = waiting
    if (!session) await begin()
    await device.report(waiting, session)
    waiting = undefined
    acknowledged.add(fixedAt)
    newest = fixedAt
  }
  /** Also before the next report, which would cover an older one. */
  async function readLast(): Promise<void> {
    const known = await device.last().catch((cause: { reason?: string }) => {
      if (keepsLast && newest > 0 && cause.reason === 'not_found') return undefined
      throw cause
    })
    if (keepsLast && !(Date.parse(known?.fixedAt ?? '') >= newest))
      older.push(`the last location is of ${known?.fixedAt}, not of ${new Date(newest).toISOString()}`)
  }
  async function readTrack() {
    const found = new Set<number>()
    let before: number | null | undefined
    let until: string | null = null
    while (before !== null) {
      const page = await device.track(device.nodeId, before === undefined ? {} : { before })
      for (const [, , fixedAt] of page.data) found.add(fixedAt)
      before = page.next
      until = page.until
    }
    return { found, until: until === null ? 0 : Date.parse(until) }
  }

  return {
    work: async () => [
      ...(keepsLast && newest > 0 ? [await attempt('the last location', readLast)] : []),
      await attempt('a session', begin),
      await attempt('a point of a track', report),
      await attempt('a point of a track', report),
      await attempt('the last location', readLast),
      await attempt('a point of a track', report),
    ],
    isRunning: () => program.process.exitCode === null && program.process.signalCode === null,
    async restart() {
      await program.stop('SIGKILL')
      const urls = { SELVEDGE_DISCOVERY_PORT: port, SELVEDGE_IDENTITY_URL: stack.identity.url }
      program = await startProgram('discovery', { ...env, ...urls }, args)
    },
    async missing() {
      if (!session) return []
      const { found, until } = await readTrack()
      const lost = [...acknowledged].filter((each) => !found.has(each))
      for (const each of lost) acknowledged.delete(each)
      const failures = [
        ...lost.map((each) => `the point of ${new Date(each).toISOString()} is gone`),
        ...older.splice(0),
        ...((await quiet?.check()) ?? []),
      ]
      if (possible.length > 0 && !possible.includes(until))
        failures.push(`the track ends at ${until}, and ${possible.join(' or ')} was asked for`)
      return failures
    },
    errors: () => program.errors(),
    pid: () => program.process.pid!,
    stop: () => program.stop(),
  }
}

/** A device that reports once a round and is then silent: no later report covers a location that is lost. */
async function createQuietDevice(stack: Stack, developer: Developer) {
  const urls = { identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url }
  const device = await createDevice(urls, developer, 'quiet')
  let reportedAt: number | undefined
  return {
    /** @returns what is wrong with its last location, before it reports the next one */
    async check(): Promise<string[]> {
      const wanted = reportedAt
      const found = wanted === undefined ? undefined : await device.last().catch((cause: Error) => cause)
      const fix = fixAt(2, 2)
      await untilAccepted(async () => {
        // The token of its first session has expired after ten minutes.
        await device.begin({}, await device.state({ audience: discoveryAudience }))
        await device.report(fix)
      })
      reportedAt = fix.fixedAt
      if (wanted === undefined) return []
      const shown = found instanceof Error ? found.message : found?.fixedAt
      if (shown === new Date(wanted).toISOString()) return []
      return [`the last location of a silent node is of ${shown}, not of ${new Date(wanted).toISOString()}`]
    },
  }
}

/** Services that were just killed or frozen refuse requests for a moment, and connections to them are reset. */
async function untilAccepted(work: () => Promise<void>): Promise<void> {
  for (let left = 60; ; left--) {
    try {
      return await work()
    } catch (cause) {
      if (left === 0) throw cause
      await sleep(500)
    }
  }
}
