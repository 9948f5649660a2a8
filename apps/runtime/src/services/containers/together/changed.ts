/** Which containers of a group start, and which continue. */
import type { Deployment } from '../deploy.ts'
import { completedOf } from '../entries.ts'
import type { Group, TogetherParts } from './group.ts'

const sameEnv = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean => {
  const names = Object.keys(one)
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && one[name] === other[name])
  )
}

const isChanged = ({ before, next }: Deployment): boolean =>
  before?.digest !== next.digest || before.imageKey !== next.imageKey || !sameEnv(before.env, next.env)

/** Whether a container of a group starts: another one continues, or has completed. */
export function mustStart(context: TogetherParts, { once, renewed }: Group, deployment: Deployment): boolean {
  const { key, before, next } = deployment
  if (!before || isChanged(deployment)) return true
  if (once.has(next.name)) return completedOf(context, key, before) === undefined
  return before.wanted !== 'running' || before.failed !== null || renewed.includes(next.name)
}
