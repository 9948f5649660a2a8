/** HTTP paths of images and containers, beside the JSON-RPC methods: bearer token with the scope `edge:mcm`. */
export const mcmPaths = {
  prefix: '/mcm/v1',
  /** GET lists, POST takes an archive as the multipart field `image`, or `{ "source" }` as JSON. */
  images: '/mcm/v1/images',
  /** POST stores an archive for a `deployImage` with its handle. */
  uploads: '/mcm/v1/uploads',
  /** GET lists, POST deploys `{ name, image, env }`. */
  containers: '/mcm/v1/containers',
  /** GET lists, POST deploys a plan of an app. */
  apps: '/mcm/v1/apps',
  /** The same as `containers`, as newer deployers of this API family call it. */
  mims: '/mcm/v1/mims',
} as const

/** What `POST /mcm/v1/uploads` answers: the handle is `upload:` and the SHA-256 of what was sent. */
export interface UploadReceipt {
  readonly handle: string
  readonly size: number
}
