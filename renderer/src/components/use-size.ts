import { useCallback, useState } from 'react';

/** Width of an element in CSS pixels, and whether it is on screen. `ref` goes on the element. */
export function useSize(): {
  ref: (element: HTMLElement | null) => (() => void) | undefined;
  width: number;
  visible: boolean;
} {
  const [width, setWidth] = useState(0);
  const [visible, setVisible] = useState(true);
  const ref = useCallback((element: HTMLElement | null) => {
    if (element === null) return undefined;
    setWidth(element.clientWidth);
    if (typeof ResizeObserver === 'undefined') return undefined;
    const resize = new ResizeObserver(([entry]) => setWidth(Math.floor(entry!.contentRect.width)));
    const seen = new IntersectionObserver(([entry]) => setVisible(entry!.isIntersecting), {
      rootMargin: '120px',
    });
    resize.observe(element);
    seen.observe(element);
    return () => {
      resize.disconnect();
      seen.disconnect();
    };
  }, []);
  return { ref, width, visible };
}
