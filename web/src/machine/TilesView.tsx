import { useCallback } from "react";
import { Layers } from "../charts/Canvas";
import { rectShape } from "../charts/overlay";
import { TilesDrawing, tileAt, tileRect, tilesLayout } from "../charts/tiles";
import { usePicture, type PictureGeometry, type ViewProps } from "./usePicture";

/** Every panel of the machine as a grid of routers. */
export function TilesView(props: ViewProps) {
  const { arrangement, index } = props.scene;
  const layout = useCallback(
    (size: { width: number; height: number }): PictureGeometry => {
      const tiles = tilesLayout(arrangement, size.width, size.height);
      return {
        shape: rectShape((router) => tileRect(tiles, arrangement, router)),
        at: (x, y) => tileAt(tiles, arrangement, index, x, y)?.router ?? null,
        drawing: (context, palette) => {
          const drawing = new TilesDrawing(context, tiles, arrangement, palette);
          return { draw: (values, marks) => drawing.draw(values.window, values.figures, marks, values.moving) };
        },
      };
    },
    [arrangement, index],
  );
  const { box, layers } = usePicture(props, layout);
  return (
    <div ref={box} className="view-box">
      {layers && <Layers {...layers} />}
    </div>
  );
}
