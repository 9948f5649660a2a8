/**
 * Deployments of apps in this run of the runtime: how each proceeds, member by member. In memory: after a restart of the runtime, the record
 * of the app has what became of it.
 */
import { type AppPlan, type AppRecord, maxAppDeployments, RpcError, type TopicData } from '@selvedge/protocol'
import { onOneLine } from '@selvedge/protocol/redaction'
import { type Clock, isoTime } from '@selvedge/service-kit/clock'
import { createOwnerShare } from '../deployments/owner-share.ts'
import { isKeyOf, isOwnedBy, keyOf, type Owned, type Owner } from '../deployments/ownership.ts'

type Shown = TopicData<'apps'>[number]
type Member = Shown['members'][number]

/** How a deployment is shown while it is under way. */
export interface Progress {
  /** What a member does now. @param why for one that has failed, without its name */
  member(service: string, state: Member['state'], why?: string): void
  /** Images of these services arrive. @param source as `pulls` shows it */
  pulling(services: readonly string[], source: string): void
  /** The images of these services are there. */
  pulled(services: readonly string[]): void
}

export interface Attempts {
  /**
   * Deploys, or joins the deployment of the app with the same ID, also if that is complete.
   *
   * @param id that the caller chose; undefined: it joins no other one
   * @throws what the work throws; RpcError `busy` if too many are under way
   */
  run(
    owner: Owner,
    plan: AppPlan,
    id: string | undefined,
    work: (progress: Progress) => Promise<AppRecord>,
  ): Promise<AppRecord>
  /** Those of an owner: first the newest of those that are complete, then those under way. */
  of(owner: Owner): Shown[]
  /** Removes those of an account. */
  forget(accountId: string): void
}

export interface AttemptParts {
  readonly clock: Pick<Clock, 'now'>
  /** Images that arrive for an owner. */
  readonly pullsOf: (owner: Owner) => TopicData<'pulls'>
  /** Called when something of it changed. */
  readonly onProgress: () => void
}

interface MemberProgress {
  readonly service: string
  readonly dependsOn: readonly string[]
  state: Member['state']
  source?: string
  why: string | null
}

interface Attempt extends Owned {
  readonly app: string
  readonly id: string
  readonly startedAt: string
  readonly members: readonly MemberProgress[]
  state: Shown['state']
  why: string | null
  result: Promise<AppRecord>
}

/** Deployments that are complete and still shown: of a project, and of all. */
const maxComplete = { ofProject: maxAppDeployments, onDevice: 100 } as const
/** Deployments that wait or proceed. */
const underWay = { what: 'deployments of apps', onDevice: 64, ofOwner: 16 } as const
const maxWhy = 1000

/** Members that others need not wait for any more. */
const isReady = ({ state }: MemberProgress): boolean =>
  state === 'healthy' || state === 'completed' || state === 'unchanged'

export function createAttempts({ clock, pullsOf, onProgress }: AttemptParts): Attempts {
  /** By the key of the app and the ID; the newest is the last one. */
  const attempts = new Map<string, Attempt>()
  const share = createOwnerShare(underWay)
  let count = 0

  function dropComplete(owner: Owner): void {
    const complete = [...attempts].filter(([, { state }]) => state !== 'deploying')
    const own = complete.filter(([, each]) => isOwnedBy(each, owner))
    const over = [
      ...own.slice(0, Math.max(0, own.length - maxComplete.ofProject)),
      ...complete.slice(0, Math.max(0, complete.length - maxComplete.onDevice)),
    ]
    for (const [key] of over) attempts.delete(key)
  }

  async function follow(
    owner: Owner,
    attempt: Attempt,
    work: (progress: Progress) => Promise<AppRecord>,
  ): Promise<AppRecord> {
    try {
      const record = await work(progressOf(attempt, onProgress))
      attempt.state = 'deployed'
      return record
    } catch (cause) {
      attempt.state = 'failed'
      attempt.why = shownWhy(cause)
      for (const member of attempt.members)
        if (member.state === 'starting' || member.state === 'healthy' || member.state === 'pulling')
          member.state = 'stopped'
      throw cause
    } finally {
      dropComplete(owner)
      onProgress()
    }
  }

  return {
    run(owner, plan, id, work) {
      // No ID of a caller has this character.
      const key = `${keyOf(owner, plan.name)} ${id ?? `#${++count}`}`
      const known = attempts.get(key)
      if (known) return known.result
      return share.run(owner, () => {
        const attempt = begin(owner, plan, id ?? '', clock.now())
        attempts.set(key, attempt)
        attempt.result = follow(owner, attempt, work)
        onProgress()
        return attempt.result
      })
    },
    of: (owner) => {
      const own = [...attempts.values()].filter((each) => isOwnedBy(each, owner))
      const newest = own.toSorted((one, other) => Number(isUnderWay(one)) - Number(isUnderWay(other)))
      const pulls = pullsOf(owner)
      return newest.slice(-maxAppDeployments).map((each) => shownOf(each, pulls))
    },
    forget(accountId) {
      for (const key of [...attempts.keys()]) if (isKeyOf(key, accountId)) attempts.delete(key)
      onProgress()
    },
  }
}

function begin(owner: Owner, plan: AppPlan, id: string, at: number): Attempt {
  const attempt: Attempt = {
    ...{ accountId: owner.account_id, clientId: owner.client_id, app: plan.name, id },
    ...{ startedAt: isoTime(at), state: 'deploying', why: null },
    members: plan.services.map(({ name, dependsOn }) => ({
      ...{ service: name, state: 'waiting', why: null },
      dependsOn: [...new Set(dependsOn.map(({ service }) => service))],
    })),
    result: Promise.reject(new Error('it has not begun')),
  }
  attempt.result.catch(() => undefined)
  return attempt
}

const isUnderWay = ({ state }: Attempt): boolean => state === 'deploying'

const shownWhy = (cause: unknown): string =>
  onOneLine(cause instanceof RpcError ? cause.message : 'the state could not be written').slice(0, maxWhy)

function progressOf({ members }: Attempt, onProgress: () => void): Progress {
  const change = (services: readonly string[], apply: (member: MemberProgress) => void) => {
    for (const member of members) if (services.includes(member.service)) apply(member)
    onProgress()
  }
  return {
    member: (service, state, why) =>
      change([service], (member) => {
        member.state = state
        member.why = why === undefined ? null : onOneLine(why).slice(0, maxWhy)
      }),
    pulling: (services, source) =>
      change(services, (member) => {
        member.state = 'pulling'
        member.source = source
      }),
    pulled: (services) =>
      change(services, (member) => {
        member.state = 'waiting'
      }),
  }
}

function shownOf({ app, id, startedAt, state, why, members }: Attempt, pulls: TopicData<'pulls'>): Shown {
  const byName = new Map(members.map((each) => [each.service, each]))
  const isAwaited = (service: string) => {
    const member = byName.get(service)
    return member !== undefined && !isReady(member)
  }
  return {
    ...{ app, deployment: id, startedAt, state, why },
    members: members.map((member) => ({
      ...{ service: member.service, state: member.state, why: member.why },
      waitingFor: member.state === 'waiting' ? member.dependsOn.filter(isAwaited) : [],
      pull: (member.state === 'pulling' && pulls.find(({ source }) => source === member.source)) || null,
    })),
  }
}
