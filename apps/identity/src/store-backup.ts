/** Backup and restore of the store: `selvedge admin store backup` and `restore`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { runStoreTool } from '@selvedge/service-kit/backup'
import { identityOptions } from './config.ts'
import { purposeOf } from './registry/keys/stored-keys.ts'
import { maxLifetime } from './registry/registry.ts'
import { revokeAllAccounts } from './registry/revocation/revoke-all-accounts.ts'
import { continueNumbers, endSingleUse, expectReadable } from './storage/restored-store.ts'
import { migrations } from './storage/schema.ts'
import { createSeal, keysVariable, readSealKeys } from './storage/secrets/seal.ts'

void runStoreTool({
  name: 'identity',
  options: identityOptions,
  migrations,
  database: 'identity.db',
  keyFile(config, folder) {
    const isElsewhere = config['secrets.keyFile'] !== '' || Boolean(process.env[keysVariable])
    return isElsewhere ? undefined : join(folder, 'secret-keys')
  },
  async prepare(database, config, { keyFile, replaced, now }) {
    const file = keyFile ?? config['secrets.keyFile']
    const isKeyAtHand = existsSync(file) || Boolean(process.env[keysVariable])
    if (isKeyAtHand)
      expectReadable(database, createSeal(await readSealKeys(file, process.env, false)), purposeOf)
    else expectReadable(database, createSeal([Buffer.alloc(32)]), purposeOf)
    database.exec('BEGIN')
    continueNumbers(database, replaced, now)
    endSingleUse(database)
    if (process.env.SELVEDGE_RESTORE_REVOKE_ALL === '1')
      revokeAllAccounts(database, now, maxLifetime.anySeconds)
    database.exec('COMMIT')
  },
})
