import * as z from 'zod'
import { imageRecord } from '../mcm/records.ts'
import { method, param } from './method.ts'
import { edgeAccessToken } from './values.ts'

const access = { caller: 'token', token: 'associated', scope: 'edge:mcm' } as const

export const imageName = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,119}$/)
export const expectedImageName =
  '1 to 120 lowercase letters, digits and . _ -, beginning with a letter or digit'

export const deployImage = method({
  name: 'deployImage',
  summary: 'Stores an image on the device.',
  description:
    'Idempotent: content is stored once, by its digest. An image with the same name is replaced. Without the parameter `name`, it is so only if it is of the same repository; else that is a conflict. Containers run the old version until they are deployed again.',
  params: [
    edgeAccessToken,
    param(
      'source',
      z.string().min(1).max(4096),
      'the path of an archive on the device, an "upload:" handle, or a reference such as registry.example/app:1.0',
      'A `docker save` archive or an OCI layout as a tar file, gzip or not; or a reference to an OCI registry, optionally pinned with @sha256:….',
    ),
    param(
      'name',
      imageName.optional(),
      expectedImageName,
      'Name of the image on the device. Absent: what the archive has, else the name of its file.',
    ),
    param(
      'now',
      z.boolean().optional(),
      'true or false',
      'Whether an image of a registry is downloaded at once. Without it, the download waits while the link of the device is metered or its budget is used (`network.metered`, `network.dayBudget`, `network.monthBudget`).',
    ),
  ],
  result: imageRecord,
  reasons: [
    'not_found',
    'invalid_image',
    'unsupported_image',
    'digest_mismatch',
    'registry_unavailable',
    'registry_refused',
    'storage_full',
    'conflict',
    'busy',
  ],
  access,
  fromServices: 'MCM.MANAGE',
  timeoutMs: 600_000,
})

export const getImages = method({
  name: 'getImages',
  summary: 'The images of the project that the token is for.',
  params: [edgeAccessToken],
  result: z.array(imageRecord),
  reasons: [],
  access,
  fromServices: 'yes',
})

export const removeImage = method({
  name: 'removeImage',
  summary: 'Removes an image that no container uses.',
  params: [
    edgeAccessToken,
    param('id', z.string().min(1), 'an image id', 'Id of the image, `<clientId>-<name>`.'),
  ],
  result: z.object({ id: z.string() }),
  reasons: ['not_found', 'in_use', 'storage_full'],
  access,
  fromServices: 'MCM.MANAGE',
})
