/** A discovery service that stores tracks of a node, and what of it was acknowledged. */
import type { AuthorizeRequest } from '@selvedge/client'
import { defaultSharing, type FixInput } from '@selvedge/protocol'
import { discoveryAudience } from '@selvedge/protocol/tokens'
import { createDevice, fixAt } from '../../harness/device.ts'
import { createDeveloper } from '../../harness/flow.ts'
import { type Stack, startProgram } from '../../harness/processes.ts'
import { attempt, type OwnedSubject } from './subject.ts'

const hour = 3_600_000

/** @param env of the daemon, which is started again with it on the port that it had */
export async function discoverySubject(
  stack: Stack,
  env: Readonly<Record<string, string>>,
): Promise<OwnedSubject> {
  const { port } = new URL(stack.discovery.url)
  let program = stack.discovery
  const developer = await createDeveloper(stack.state)
  const device = await createDevice(
    { identityUrl: stack.identity.url, discoveryUrl: stack.discovery.url },
    developer,
  )
  const acknowledged = new Set<number>()
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
      await attempt('a session', begin),
      await attempt('a point of a track', report),
      await attempt('a point of a track', report),
      await attempt('the last location', () => device.last()),
      await attempt('a point of a track', report),
    ],
    isRunning: () => program.process.exitCode === null && program.process.signalCode === null,
    async restart() {
      await program.stop('SIGKILL')
      program = await startProgram('discovery', {
        ...env,
        SELVEDGE_DISCOVERY_PORT: port,
        SELVEDGE_IDENTITY_URL: stack.identity.url,
      })
    },
    async missing() {
      if (!session) return []
      const { found, until } = await readTrack()
      const lost = [...acknowledged].filter((each) => !found.has(each))
      for (const each of lost) acknowledged.delete(each)
      const failures = lost.map((each) => `the point of ${new Date(each).toISOString()} is gone`)
      if (possible.length > 0 && !possible.includes(until))
        failures.push(`the track ends at ${until}, and ${possible.join(' or ')} was asked for`)
      return failures
    },
    errors: () => program.errors(),
    pid: () => program.process.pid!,
    stop: () => program.stop(),
  }
}
