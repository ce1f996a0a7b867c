/** The part of svgcanvas that is used; the package brings no types. */
declare module "svgcanvas" {
  export const Context: new (options: {
    width: number;
    height: number;
  }) => CanvasRenderingContext2D & { getSvg: () => SVGSVGElement };
}
