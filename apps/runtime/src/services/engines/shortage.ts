/** System errors that mean that the device lacks something, and not that a container is at fault. Such work is tried again. */

const diskFull = new Set(['ENOSPC', 'EDQUOT'])
/** Descriptors, processes, memory, or a disk that does not answer or is read-only for the moment. */
const scarce = new Set(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM', 'EIO', 'EROFS'])

/** @param code as in `error.code` */
export const isDiskFull = (code: string | undefined): boolean => diskFull.has(code ?? '')

/** Whether an error means a full disk or another shortage. @param code as in `error.code` */
export const isShortage = (code: string | undefined): boolean => isDiskFull(code) || scarce.has(code ?? '')
