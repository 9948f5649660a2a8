/**
 * The values of secrets that a deployment of an app brings along. Each value has a name of its own, `<app>.<name>.<version>`: the former
 * release keeps its values until the next one serves, and a deployment that fails leaves nothing of its own.
 */
import { type AppPlan, appSecretName, appSecretVersionDigits, RpcError } from '@selvedge/protocol'
import type { Owner } from '../deployments/ownership.ts'
import type { Secrets } from '../secrets/secrets.ts'
import { decode } from '../secrets/service-secrets.ts'
import type { Release } from './stored-apps.ts'

/** In base64. */
export type AppSecretValues = readonly { readonly name: string; readonly value: string }[]

/** @returns the stored names of those secrets of the plan that have a value of a release: of this call, else of the one before */
export async function secretNamesOf(
  secrets: Pick<Secrets, 'versionOf'>,
  owner: Owner,
  plan: AppPlan,
  values: AppSecretValues,
  before: Release | null | undefined,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const secret of plan.secrets) {
    if (secret.from === 'project') continue
    const name = appSecretName(plan.name, secret)
    const given = values.find((each) => each.name === secret.name)
    const stored = given
      ? `${name}.${(await secrets.versionOf(owner, name, bytesOf(given))).slice(0, appSecretVersionDigits)}`
      : before?.secrets.find((each) => isVersion(each, name))
    if (stored !== undefined) names.set(secret.name, stored)
  }
  const unknown = values.find(
    ({ name }) => !plan.secrets.some((each) => each.name === name && each.from !== 'project'),
  )
  if (unknown)
    throw new RpcError(
      'invalid_params',
      `secrets: the plan has no secret ${JSON.stringify(unknown.name)} with a value of its own`,
      { hint: 'Leave it out, or add it to the secrets of the plan.' },
    )
  return names
}

const isVersion = (stored: string, name: string): boolean =>
  stored.length === name.length + 1 + appSecretVersionDigits &&
  stored.startsWith(`${name}.`) &&
  /^[0-9a-f]+$/.test(stored.slice(name.length + 1))

/**
 * Stores the values.
 *
 * @param onSet called with each name that was not there before, once it is
 * @throws RpcError `limit_exceeded`; StoreError
 */
export async function setValues(
  secrets: Pick<Secrets, 'set' | 'list'>,
  owner: Owner,
  names: ReadonlyMap<string, string>,
  values: AppSecretValues,
  onSet: (name: string) => void,
): Promise<void> {
  const present = new Set(secrets.list(owner).flatMap(({ name, damaged }) => (damaged ? [] : [name])))
  for (const each of values) {
    const name = names.get(each.name)!
    if (present.has(name)) continue
    await secrets.set(owner, name, bytesOf(each))
    onSet(name)
  }
}

const bytesOf = ({ value }: AppSecretValues[number]): Buffer => decode(value, 'base64')
