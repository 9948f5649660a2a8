/** Containers that are changed together, and what each change of them needs. */
import type { ContainerSpec } from '@selvedge/protocol'
import type { ChangeParts } from '../changes.ts'
import type { Deployment, DeploySteps, FormerImage } from '../deploy.ts'
import type { Entry } from '../entries.ts'
import type { OnceRuns } from '../once-runs.ts'

/** A container that ran once. */
export interface NamedCompletion {
  readonly name: string
  readonly revision: number
  readonly exitCode: number
  /** Unix milliseconds. */
  readonly at: number
}

type MemberState = 'starting' | 'healthy' | 'completed' | 'unchanged' | 'failed'

/** Containers that are deployed together. */
export interface Group {
  /** In the order of their start. */
  readonly specs: readonly ContainerSpec[]
  /** Images of a former release, by the name of the container. Others have the present image with the name in their spec. */
  readonly formerImages?: ReadonlyMap<string, FormerImage>
  /** Names of containers that the same change removes, with their data. */
  readonly removed: readonly string[]
  /** Names of containers that start again even if nothing of them has changed; but for those that run once. */
  readonly renewed: readonly string[]
  /** Names of containers that run once, each with how often it is started again after a failure. */
  readonly once: ReadonlyMap<string, number>
  /** What the history has as the rule. */
  readonly rule: string
  /** Called before anything is changed, when no other change of the containers is under way. @throws RpcError to refuse */
  expect(key: string): void
  /**
   * Called before the first container starts.
   *
   * @param revisions the revision that each container has once the group is deployed, by its name
   * @param planned all containers, in the order of `specs`
   */
  intend(revisions: ReadonlyMap<string, number>, planned: readonly Deployment[]): Promise<void>
  /** Called when a container begins to start, has started, continues or has failed. Must not throw. @param why it failed */
  onMember(name: string, state: MemberState, why?: string): void
  /** Called with what ran once to its end, when all others run, and before the document has any of them. */
  complete(completions: readonly NamedCompletion[]): Promise<void>
}

export type EntriesByKey = ReadonlyMap<string, Entry>

export interface TogetherParts extends ChangeParts {
  readonly steps: DeploySteps
  readonly onceRuns: Pick<OnceRuns, 'run'>
}
