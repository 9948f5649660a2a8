/** A response of a service that does not follow HTTP/1.1. The message completes a sentence about the response, for the log. */
export class BrokenResponse extends Error {}
