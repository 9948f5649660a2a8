import { isAbsolute } from 'node:path'
import { RpcError } from '@selvedge/protocol'
import type { Images } from '../services/images/images.ts'

/** Images for callers that may not name a file of this device: it would be read with the rights of the runtime. */
export const imagesForServices = (images: Images): Images => ({
  ...images,
  async deploy(owner, source, how) {
    if (isAbsolute(source))
      throw new RpcError('service_not_allowed', 'services may not deploy from a path on the device', {
        hint: 'Send the archive to POST /mcm/v1/images, or name a reference to a registry.',
      })
    return images.deploy(owner, source, how)
  },
})
