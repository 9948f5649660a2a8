/** The order in which services start: each after those that it depends on. */
import { problem } from './at.ts'
import { shown } from './report.ts'
import type { Draft } from './service/draft.ts'

/**
 * Removes dependencies that are not required on services that are not there.
 *
 * @param inactive services of profiles that are not chosen
 * @returns names in the order of the start; in the order of the file where nothing else is said
 */
export function orderServices(drafts: readonly Draft[], inactive: ReadonlySet<string>): readonly string[] {
  const byName = new Map(drafts.map((each) => [each.name, each]))
  for (const draft of drafts) checkDependencies(draft, byName, inactive)
  const done = new Set<string>()
  for (const draft of drafts) follow(draft, byName, done, [])
  return [...done]
}

function checkDependencies(
  draft: Draft,
  byName: ReadonlyMap<string, Draft>,
  inactive: ReadonlySet<string>,
): void {
  const present = draft.dependsOn.filter(({ service, isRequired, at }) => {
    if (byName.has(service)) return true
    if (inactive.has(service) && isRequired)
      problem(
        at,
        `The service ${shown(service)} is in no chosen profile. Choose one with --profile, or write "required: false".`,
      )
    else if (isRequired) problem(at, `There is no service ${shown(service)}. Check the name.`)
    return false
  })
  draft.dependsOn.splice(0, draft.dependsOn.length, ...present)
}

/** @param way services that wait for this one */
function follow(
  draft: Draft,
  byName: ReadonlyMap<string, Draft>,
  done: Set<string>,
  way: readonly string[],
): void {
  if (done.has(draft.name)) return
  for (const { service, at } of draft.dependsOn) {
    const names = [...way, draft.name]
    if (names.includes(service))
      problem(
        at,
        `Services wait for each other: ${[...names.slice(names.indexOf(service)), service].join(' → ')}. Remove one of these dependencies.`,
      )
    else follow(byName.get(service)!, byName, done, names)
  }
  done.add(draft.name)
}
