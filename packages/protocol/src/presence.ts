/**
 * When a node is online: one definition for the runtime, the identity service, the console and the discovery service.
 *
 * Each service sends its nodes the interval in which a healthy node reports again. The discovery service sends `report_within`
 * (`presence.interval`); the identity service sends the lifetime of an edge ID token, which the node renews. A node is online
 * until {@link intervalsUntilOffline} of these intervals have passed since its last report: one report may be lost and the
 * next one may be late.
 */

/** Seconds between two reports of a healthy node to the discovery service, unless the service sends another interval. */
export const discoveryReportSeconds = 120

/** Seconds between two checks of a runtime whether its edge ID token has to be renewed. */
export const identityCheckSeconds = 600

/** Intervals without a report after which a node is offline. */
const intervalsUntilOffline = 2.5

/**
 * The interval in which a healthy node contacts the identity service.
 *
 * @param edgeTokenSeconds lifetime of an edge ID token in seconds
 * @returns seconds; a node with a long-lived token contacts the service less often, a short-lived one does not make it contact more often
 */
export const identityReportSeconds = (edgeTokenSeconds: number): number =>
  Math.max(identityCheckSeconds, edgeTokenSeconds)

/**
 * Milliseconds after the last report during which a node is online.
 *
 * @param reportSeconds interval in which a healthy node reports, in seconds
 */
export const onlineWindowMs = (reportSeconds: number): number => reportSeconds * 1000 * intervalsUntilOffline

/**
 * Whether a node is online. The last millisecond of the window counts.
 *
 * @param lastReportMs time of the last report that was received, in Unix milliseconds
 * @param nowMs the present time, in Unix milliseconds
 * @param reportSeconds interval in which a healthy node reports to the service that received it, in seconds
 */
export const isOnline = (lastReportMs: number, nowMs: number, reportSeconds: number): boolean =>
  nowMs - lastReportMs <= onlineWindowMs(reportSeconds)
