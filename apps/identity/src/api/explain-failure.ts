import { RpcError } from '@selvedge/protocol'
import { storageRefusal } from '@selvedge/service-kit/store'
import { OutdatedError } from '../storage/changes/freshness.ts'

/**
 * The refusal for a failure of the storage, and for a server that can't read there what others changed.
 *
 * @returns `storage_full` or `storage_failed`; undefined where the cause is something else
 */
export const explainFailure = (cause: unknown): RpcError | undefined =>
  cause instanceof OutdatedError
    ? new RpcError('storage_failed', cause.message, { cause })
    : storageRefusal(cause)
