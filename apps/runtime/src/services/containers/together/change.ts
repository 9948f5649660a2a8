/** What a group changes, and whether the device can do it. */
import { RpcError } from '@selvedge/protocol'
import { type Deployments, without } from '../../deployments/deployments.ts'
import type { Owner } from '../../deployments/ownership.ts'
import type { Deployment } from '../deploy.ts'
import type { Group, TogetherParts } from './group.ts'
import { naming } from './named.ts'

/** What a group changes. */
export interface Change extends Pick<Group, 'once' | 'complete' | 'onMember'> {
  readonly owner: Owner
  readonly rule: string
  /** Those that change, in the order of their start. */
  readonly deployments: readonly Deployment[]
  /** Keys. */
  readonly removed: readonly string[]
}

export function expectAll(
  { steps }: TogetherParts,
  value: Deployments,
  { deployments, removed, once }: Change,
): void {
  for (const each of deployments)
    naming(each, () => {
      if (once.has(each.next.name)) expectExits(each)
      steps.expectDeployable(seenBy(value, each, deployments, removed), each)
    })
}

/** @throws RpcError `invalid_params` for what never exits by itself */
function expectExits({ content }: Deployment): void {
  if (content.kind === 'function')
    throw new RpcError('invalid_params', 'it is a function, which cannot run once', {
      hint: 'Write the restart "always", or use an image of a program that exits.',
    })
}

/** The document as it will be, but with what one container replaces: so each is checked against all others. */
function seenBy(
  value: Deployments,
  { key }: Deployment,
  all: readonly Deployment[],
  removed: readonly string[],
): Deployments {
  const { [key]: before } = value.containers
  const others = Object.entries(value.containers).filter(([each]) => !removed.includes(each))
  const next = all.map((each) => [each.key, each.next] as const)
  const containers = without(Object.fromEntries([...others, ...next]), key)
  return { ...value, containers: before ? { ...containers, [key]: before } : containers }
}
