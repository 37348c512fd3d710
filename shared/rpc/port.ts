/** The one way two processes or threads talk here. Every adapter keeps typed arrays and NaN. */
export interface Port {
  /**
   * Sends one message; after close it is dropped. Where the transport can tell, the promise settles once more
   * may be sent; without one the transport buffers.
   */
  post(message: unknown): void | Promise<void>;
  /** Messages that came before the first listener are kept for it. */
  onMessage(listener: (message: unknown) => void): void;
  /** Called once, also when it is closed already. */
  onClose(listener: () => void): void;
  close(): void;
}
