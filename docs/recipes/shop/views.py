from django.apps import apps
from django.http import Http404, JsonResponse


def read(request, id):
    shop = apps.get_app_config("shop")
    row = shop.session.execute(shop.by_id, (id,)).one()
    if row is None:
        raise Http404
    return JsonResponse(row._asdict())


async def read_async(request, id):
    shop = apps.get_app_config("shop")
    result = await shop.session.execute_async(shop.by_id, (id,))
    row = result.one()
    if row is None:
        raise Http404
    return JsonResponse(row._asdict())
