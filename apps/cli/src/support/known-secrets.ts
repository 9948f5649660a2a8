/** Secrets that this user can read. They are looked for in everything that a support bundle contains, and removed. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSecretName } from '@selvedge/protocol/redaction'
import type { Env } from '../context/runtime-address.ts'

const maxFileBytes = 64 * 1024

/** @param state the state folder; @param folders with the sign-ins and the leases of this user */
export function readKnownSecrets(state: string, folders: readonly string[], env: Env): string[] {
  const signIns = folders.flatMap((folder) => namesIn(folder).map((name) => join(folder, name)))
  const files = [
    join(state, 'api-key'),
    join(state, 'identity', 'secret-keys'),
    join(state, 'runtime', 'node-key.json'),
  ]
  return [
    ...Object.entries(env).flatMap(([name, value = '']) =>
      isSecretName(name) || /^SELVEDGE_.*STORE$/.test(name) ? [value] : [],
    ),
    ...[...files, ...signIns].flatMap((path) => textsIn(readText(path))),
  ].filter((text) => text.length >= 8)
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).slice(0, 100)
  } catch {
    return []
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').slice(0, maxFileBytes)
  } catch {
    return ''
  }
}

/** Words of a text file, or the secret members of a JSON file; `d` is the private part of a JWK (RFC 7518 § 6.2.2). */
function textsIn(text: string): string[] {
  try {
    return secretsIn(JSON.parse(text))
  } catch {
    return text.split(/\s+/)
  }
}

function secretsIn(value: unknown, depth = 0): string[] {
  if (typeof value !== 'object' || value === null || depth > 4) return []
  return Object.entries(value).flatMap(([name, inner]) =>
    typeof inner === 'string' && (isSecretName(name) || name === 'd') ? [inner] : secretsIn(inner, depth + 1),
  )
}
