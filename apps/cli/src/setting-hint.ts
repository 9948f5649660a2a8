import { containerSettings } from '@selvedge/protocol'
import { closest } from './closest.ts'

/** Hint for a setting of a service; undefined if the failure is about something else. */
export function settingHint({ message }: { readonly message: string }): string | undefined {
  const [, name, isUnknown] = /^env\["(MCM\.[^"]{1,80})"\] is (not a setting )?/.exec(message) ?? []
  if (name === undefined) return undefined
  const meant = isUnknown ? closest(name, Object.keys(containerSettings)) : undefined
  return meant === undefined
    ? '"selvedge help settings" explains each setting.'
    : `Did you mean ${meant}? "selvedge help settings" explains each setting.`
}
