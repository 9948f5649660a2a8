import { createDeveloper, type Developer } from '../../../harness/flow.ts'
import { type Program, startProgram, temporaryFolder } from '../../../harness/processes.ts'

export interface Parties {
  readonly developer: Developer
  readonly identity: Program
  /** Its state folder, which no power cut reaches. */
  readonly services: string
}

/** Runs the work with an identity service that a recorded daemon can ask, and with a developer who has an account there. */
export async function withIdentity<T>(work: (parties: Parties) => Promise<T>): Promise<T> {
  const services = await temporaryFolder()
  const identity = await startProgram('identity', {
    SELVEDGE_STATE: services.path,
    SELVEDGE_IDENTITY_PORT: '0',
  })
  try {
    return await work({ developer: await createDeveloper(services.path), identity, services: services.path })
  } finally {
    await identity.stop()
    await services.remove()
  }
}
